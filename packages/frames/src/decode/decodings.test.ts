import { afterAll } from 'vitest';
import { decodingContract } from '../testing/decoding-contract.ts';
import { createDecoders } from './decoders.ts';

const decoders = createDecoders({ maxWorkers: 2 });
afterAll(() => decoders.close());

decodingContract('json', (body) => decoders.decode('json', body));
decodingContract('ndjson', (body) => decoders.decode('ndjson', body));
decodingContract('arrow', (body) => decoders.decode('arrow', body));
