import type { Program } from '../command.ts';

/** `svc serve`: the server itself, in this process. */
export const serve: Program = {
  kind: 'program',
  name: 'serve',
  summary: 'Run a server; svc serve --help lists its flags.',
  usage: [],
  async run(argv) {
    // Loaded only here: the other commands start faster without it.
    const { runServer } = await import('@svc/server');
    return runServer(argv, { command: 'svc serve' });
  },
};
