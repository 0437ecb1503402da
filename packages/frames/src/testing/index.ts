/**
 * Test suites that every implementation of an interface of `@svc/frames` passes, and frames to test with. They run under
 * vitest.
 *
 * ```ts
 * import { createMemoryStore, encodeCsv } from '@svc/frames';
 * import { encodingContract, storeContract } from '@svc/frames/testing';
 *
 * storeContract('the memory store', async (options) => createMemoryStore(options));
 * encodingContract('csv', encodeCsv);
 * ```
 */
export { encodingContract } from './encoding-contract.ts';
export { type SampleFrame, streamOfSample } from './sample-frame.ts';
export { longFrame, readRows, SAMPLE_FRAMES } from './sample-frames.ts';
export { storeContract, type StoreContractOptions } from './store-contract.ts';
