import { ClientError, describeFrame } from '@svc/client/internal';
import type { Api } from '../api/api.ts';
import type { FrameInfo } from '../api/types.ts';
import { FrameReplaced } from '../rows/load-window.ts';
import type { AppState } from '../state/app-state.ts';

/**
 * Throws `FrameReplaced` unless a frame still has the version that is shown. Versions never come back, so all statements
 * that were answered before have read this version.
 */
export async function confirmVersion(
  app: Pick<AppState, 'api' | 'refreshFrames'>,
  frame: FrameInfo | undefined,
  signal: AbortSignal,
): Promise<void> {
  if (frame === undefined || (await frameVersion(app.api, frame.handle, signal)) === frame.version) return;
  void app.refreshFrames();
  throw new FrameReplaced('The frame has been replaced. Reload shows the newer version.');
}

/** Returns the current version of a frame; undefined if there is no such frame. */
async function frameVersion(api: Api, handle: string, signal: AbortSignal): Promise<string | undefined> {
  try {
    return (await describeFrame(api, handle, { signal })).version;
  } catch (error) {
    if (error instanceof ClientError && error.status === 404) return undefined;
    throw error;
  }
}
