import { afterAll, describe } from 'vitest';
import { bytesOf } from '../testing/bytes-of.ts';
import { decodingContract } from '../testing/decoding-contract.ts';
import { createDecoders } from './decoders.ts';

const decoders = createDecoders({ maxWorkers: 2 });
afterAll(() => decoders.close());

decodingContract('json', (body) => decoders.decode('json', body));
decodingContract('ndjson', (body) => decoders.decode('ndjson', body));
decodingContract('arrow', (body) => decoders.decode('arrow', body));

describe('of bodies in memory', () => {
  decodingContract('json', async (body) => decoders.decode('json', await bytesOf(body)));
  decodingContract('arrow', async (body) => decoders.decode('arrow', await bytesOf(body)));
});
