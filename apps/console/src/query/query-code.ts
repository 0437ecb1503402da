import { QueryPane } from './QueryPane.tsx';
import { sessionsOf } from './sessions.ts';

/** What the page takes of the code of query tabs. */
export const queryCode = { QueryPane, sessionsOf };
