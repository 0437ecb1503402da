/** What a client needs for TLS, in PEM. */
export interface ClientTls {
  /** The authorities to trust. Default: those of Node. */
  readonly ca?: string;
  /** The certificate to show, and its key. Default: none. */
  readonly cert?: string;
  readonly key?: string;
}

/** Returns a `fetch` that uses the authorities and the certificate of a client. */
export function createTlsFetch(tls: ClientTls): typeof fetch {
  // Imported lazily: without these options the fetch of Node needs no agent.
  const dispatcher = import('undici').then(({ Agent }) => new Agent({ connect: { ...tls } }));
  // `assign`, because the types of Node's own undici differ in details.
  return async (input, init) => fetch(input, Object.assign({ ...init }, { dispatcher: await dispatcher }));
}
