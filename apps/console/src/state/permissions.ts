import type { ServerInfo } from '../api/types.ts';

/** Whether the server lets the user change frames. Without authentication it lets everyone. */
export function mayWrite(info: ServerInfo | undefined): boolean {
  return info?.caller?.permissions.includes('write') ?? true;
}
