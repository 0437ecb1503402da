import { BlockList, isIP } from 'node:net';

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** Whether only this machine can reach a listener on the host. */
export function isLoopback(host: string): boolean {
  const version = isIP(host);
  return version === 0 ? host === 'localhost' : LOOPBACK.check(host, version === 6 ? 'ipv6' : 'ipv4');
}

/** Returns the names in `Host` that a listener accepts by default: on loopback its own, to stop DNS rebinding, else any. */
export function defaultHosts(host: string): readonly string[] | undefined {
  return isLoopback(host) ? [...new Set(['localhost', '127.0.0.1', '::1', host])] : undefined;
}
