/** A process that opens a durable store in the given directory, prints the outcome, and holds the store until it ends. */
import { createDurableStore } from '../store/durable-store.ts';
import { DirectoryInUseError } from '../disk/directory-lock.ts';
import { createArrowFrameFiles } from './arrow-frame-files.ts';

const [, , directory = ''] = process.argv;
try {
  await createDurableStore({ directory, files: createArrowFrameFiles() });
  process.stdout.write('held\n');
  // Nothing else keeps the process alive.
  setInterval(() => {}, 60_000);
} catch (error) {
  if (!(error instanceof DirectoryInUseError)) throw error;
  process.stdout.write(`in use by ${error.holder.pid}\n`);
}
