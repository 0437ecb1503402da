import { createMemoryObjects } from './memory-objects.ts';
import { objectsContract } from './testing/objects-contract.ts';

objectsContract('memory', async () => ({ objects: createMemoryObjects() }));
