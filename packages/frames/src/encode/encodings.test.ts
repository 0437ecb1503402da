import { SLOW } from '../../../../test/tier.ts';
import { encodingContract } from '../testing/encoding-contract.ts';
import { encodeArrowStream } from './arrow-stream.ts';
import { encodeCsv, encodeJsonTable, encodeNdjson } from './row-formats.ts';

encodingContract('json', (source) => encodeJsonTable(source, { query: 'q' }), { otherForms: SLOW });
encodingContract('ndjson', encodeNdjson, { otherForms: SLOW });
encodingContract('csv', encodeCsv, { otherForms: SLOW });
encodingContract('arrow', encodeArrowStream, { otherForms: SLOW });
