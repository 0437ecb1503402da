import type { FrameRef, Store } from '@svc/frames';
import type { Schema } from 'apache-arrow';

/** Returns the schema of a frame; undefined if there is none. */
export async function schemaOf(store: Store, ref: FrameRef): Promise<Schema | undefined> {
  const frame = await store.open(ref);
  try {
    return frame?.read({ limit: 0 }).schema;
  } finally {
    frame?.close();
  }
}
