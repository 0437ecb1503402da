/** An event of the files and servers behind an authenticator, and of the files of TLS. */
export type AuthEvent =
  | { readonly kind: 'callers_loaded'; readonly path: string; readonly tokens: number }
  /** The file has changed and cannot be used; the last usable content stays in force. */
  | { readonly kind: 'callers_refused'; readonly path: string; readonly reason: string }
  | { readonly kind: 'keys_loaded'; readonly source: string; readonly keys: number }
  /** The keys that sign JWTs cannot be loaded again; those from before stay in force. */
  | { readonly kind: 'keys_refused'; readonly source: string; readonly reason: string }
  | { readonly kind: 'certificate_loaded'; readonly path: string; readonly expires: Date }
  /** The files of TLS have changed and cannot be used; those from before stay in force. */
  | { readonly kind: 'certificate_refused'; readonly reason: string };
