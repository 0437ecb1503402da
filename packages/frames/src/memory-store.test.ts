import { createMemoryStore } from './memory-store.ts';
import { storeContract } from './testing/store-contract.ts';

storeContract('the memory store', async (options) => createMemoryStore(options));
