/**
 * The test suite of every implementation of `Objects`, and the tools to test what is built on them: faults, a virtual clock,
 * and a checker of histories.
 *
 * ```ts
 * import { createMemoryObjects } from '@svc/objects';
 * import { createVirtualClock, objectsContract, randomOf, withFaults } from '@svc/objects/testing';
 *
 * objectsContract('memory', async () => ({ objects: createMemoryObjects() }));
 *
 * const clock = createVirtualClock();
 * const home = withFaults(createMemoryObjects(clock.now), { clock, random: randomOf(1), rate: 0.25 });
 * await clock.run(home.stat('a')); // fails, answers late, or answers: the same in every run
 * ```
 */
export { type Faults, randomOf, withFaults } from './faults.ts';
export { checkHistory, type HistoryModel, type Operation } from './history.ts';
export { objectsContract, type ContractHome } from './objects-contract.ts';
export { createVirtualClock, type VirtualClock } from './virtual-clock.ts';
