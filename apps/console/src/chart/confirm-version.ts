import { frameVersion } from '../api/frames.ts';
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
