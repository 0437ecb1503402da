/**
 * Test suites for implementations of the interfaces of `@svc/frames`, and sample frames. They need vitest.
 *
 * ```ts
 * import { createDecoders, createMemoryStore, encodeCsv } from '@svc/frames';
 * import { decodingContract, encodingContract, storeContract } from '@svc/frames/testing';
 *
 * storeContract('the memory store', async (options) => createMemoryStore(options));
 * encodingContract('csv', encodeCsv);
 * const decoders = createDecoders();
 * decodingContract('json', (body) => decoders.decode('json', body));
 * ```
 */
export { streamOfBatches } from '../streams.ts';
export { bodyOf, bytesOf, chunksOf } from './bytes-of.ts';
export {
  bits as buildBits,
  type BuildColumn,
  bytes as buildBytes,
  decimals as buildDecimals,
  listsOf as buildListsOf,
  longs as buildLongs,
  numbers as buildNumbers,
  structsOf as buildStructsOf,
} from './column-builders.ts';
export { decodingContract, type DecodingContractOptions } from './decoding-contract.ts';
export type { EncodingCheck } from './encoding-checks.ts';
export { encodingContract, type EncodingContractOptions } from './encoding-contract.ts';
export { engineContract, type EngineContractOptions, type EngineContractParts } from './engine-contract.ts';
export { type ContractFrame, readingContract } from './reading-contract.ts';
export { type SampleFrame, type SampleReading, streamOfSample } from './sample-frame.ts';
export { longFrame, readRows, SAMPLE_FRAMES, spoiltFrame } from './sample-frames.ts';
export { storeContract, type StoreContractOptions } from './store-contract.ts';
