/**
 * Named bytes that are written once, in a directory that any number of processes share, or in memory.
 *
 * ```ts
 * import { createDirectoryObjects, readObject } from '@svc/objects';
 *
 * const objects = createDirectoryObjects('/data/objects');
 * await objects.create('log/00000000000000000000.json', Buffer.from('{}')); // true: durable
 * await objects.create('log/00000000000000000000.json', Buffer.from('[]')); // false: another was first
 * await readObject(objects, 'log/00000000000000000000.json', 1024); // { tag, bytes }
 * ```
 */
export { createDirectoryObjects, type DirectoryObjectsOptions } from './directory-objects.ts';
export { createMemoryObjects } from './memory-objects.ts';
export {
  type FileBody,
  type GetOptions,
  type ListOptions,
  type ObjectBody,
  type Objects,
  type ObjectStat,
  OutcomeUnknown,
  readObject,
} from './objects.ts';
