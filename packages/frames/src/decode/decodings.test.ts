import { afterAll, describe } from 'vitest';
import { SLOW } from '../../../../test/tier.ts';
import { bytesOf } from '../testing/bytes-of.ts';
import { decodingContract } from '../testing/decoding-contract.ts';
import { createDecoders } from './decoders.ts';

const decoders = createDecoders({ maxWorkers: 2 });
afterAll(() => decoders.close());

decodingContract('json', (body) => decoders.decode('json', body), { smallChunks: SLOW });
decodingContract('ndjson', (body) => decoders.decode('ndjson', body), { smallChunks: SLOW });
decodingContract('arrow', (body) => decoders.decode('arrow', body), { smallChunks: SLOW });

// decoders.test.ts has fast tests of such bodies.
describe('of bodies in memory', SLOW, () => {
  decodingContract('json', async (body) => decoders.decode('json', await bytesOf(body)));
  decodingContract('arrow', async (body) => decoders.decode('arrow', await bytesOf(body)));
});
