import type { Config } from '@svc/config';
import type { AuthenticationKind, HostInfo } from '@svc/exec-http';

/** Returns what `/info` reports of a configuration. */
export function hostInfo({ auth, http, tls, sql }: Pick<Config, 'auth' | 'http' | 'sql' | 'tls'>): HostInfo {
  const hasCallersFile = auth.callers_file !== undefined;
  const kinds: readonly (AuthenticationKind | false)[] = [
    hasCallersFile && 'token',
    auth.jwks !== undefined && 'jwt',
    hasCallersFile && tls.client_ca_file !== undefined && 'certificate',
  ];
  return {
    authentication: auth.mode === 'none' ? [] : kinds.filter((kind) => kind !== false),
    ...(http.console && { console: { keepsHistory: http.console_history } }),
    limits: {
      sqlTimeoutMs: sql.timeout_ms,
      sqlMemoryBytes: Math.round(sql.memory_gb * 1e9),
      sqlMaxConcurrent: sql.max_concurrent,
      sqlMaxQueued: sql.max_queued,
    },
  };
}
