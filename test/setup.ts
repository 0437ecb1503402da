import { statSync } from 'node:fs';
import { afterAll } from 'vitest';

// Node resolves the links of a path by the file type it has seen last. After a pipe or a socket, also one that `rm` has
// removed, it does not find packages that pnpm links. The files of a project share processes, so each leaves a folder seen.
afterAll(() => void statSync('.'));
