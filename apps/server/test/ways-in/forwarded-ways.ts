import { http, type Way } from './way.ts';

/** The ways into the time-series database if `tsdb.forward` is `all`: every path that the server does not have. */
export const FORWARDED_WAYS: readonly Way[] = [
  ...(['GET', 'HEAD'] as const).map((method): Way => ({
    entries: [`${method} of any other path`],
    operation: 'forwardRead',
    send: http('/warnings', { method }),
  })),
  ...(['POST', 'PUT', 'PATCH', 'DELETE'] as const).map((method): Way => ({
    entries: [`${method} of any other path`],
    operation: 'forwardChange',
    send: http('/imp', { method, body: 'a,b' }),
  })),
];
