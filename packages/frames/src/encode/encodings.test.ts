import { encodingContract } from '../testing/encoding-contract.ts';
import { encodeArrowStream } from './arrow-stream.ts';
import { encodeCsv } from './csv.ts';
import { encodeJsonTable } from './json-table.ts';
import { encodeNdjson } from './ndjson.ts';

encodingContract('json', (source) => encodeJsonTable(source, { query: 'q' }));
encodingContract('ndjson', encodeNdjson);
encodingContract('csv', encodeCsv);
encodingContract('arrow', encodeArrowStream);
