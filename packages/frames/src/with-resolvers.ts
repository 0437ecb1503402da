/** A promise and the functions that settle it. */
export interface Resolvers<Value> {
  readonly promise: Promise<Value>;
  readonly resolve: (value: Value) => void;
  readonly reject: (error: Error) => void;
}

/** Creates a promise that is settled from outside, as `Promise.withResolvers` does. */
export function withResolvers<Value>(): Resolvers<Value> {
  let resolve: Resolvers<Value>['resolve'] = ignore;
  let reject: Resolvers<Value>['reject'] = ignore;
  const promise = new Promise<Value>((onValue, onError) => {
    resolve = onValue;
    reject = onError;
  });
  return { promise, resolve, reject };
}

function ignore(): void {
  // The promise constructor replaces it at once.
}
