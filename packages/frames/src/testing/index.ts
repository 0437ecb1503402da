/**
 * Test suites that every implementation of an interface of `@svc/frames` passes. They run under vitest.
 *
 * ```ts
 * import { createMemoryStore } from '@svc/frames';
 * import { storeContract } from '@svc/frames/testing';
 *
 * storeContract('the memory store', async (options) => createMemoryStore(options));
 * ```
 */
export { longFrame, readRows } from './sample-frames.ts';
export { storeContract, type StoreContractOptions } from './store-contract.ts';
