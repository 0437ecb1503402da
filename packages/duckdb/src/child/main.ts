import { firstDatabase } from './open-database.ts';

// The program of an engine child. Opening a database takes as long as loading the modules that use it, but on another
// thread: start it first.
void firstDatabase();
void import('./serve.ts').then(({ serve }) => serve());
