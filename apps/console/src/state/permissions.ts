import type { ServerInfo } from '../api/types.ts';

/** Whether the server runs SQL. Until it is known, it does. */
export function canQuery(info: ServerInfo | undefined): boolean {
  return (info?.engines.length ?? 1) > 0;
}

/** Whether the server runs SQL over its frames. Until it is known, it does not. */
export function hasLocalSql(info: ServerInfo | undefined): boolean {
  return info?.engines.includes('local') === true;
}

/** Whether the server lets the user change frames. Without authentication it lets everyone. */
export function mayWrite(info: ServerInfo | undefined): boolean {
  return info?.caller?.permissions.includes('write') ?? true;
}
