import { firstDatabase } from './open-database.ts';

// A terminal sends Ctrl-C to all processes of its group, and some supervisors do so with SIGTERM. The server decides when its
// children end, because requests may still need them. They end with their pipe.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);

// The program of an engine child. Opening a database takes as long as loading the modules around it, but on another
// thread: start it first.
void firstDatabase();
void import('./serve.ts').then(({ serve }) => serve());
