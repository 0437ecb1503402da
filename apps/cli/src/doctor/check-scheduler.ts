import type { Config } from '@svc/config';
import { schedulerCluster } from '@svc/config/internal';
import { createSchedulerEngine } from '@svc/scheduler';
import { type Diagnosis, TIMEOUT_MS } from './diagnosis.ts';

const NAME = 'The cluster of scheduler.url';

/** Checks that the cluster runs SQL, in the same way as the server sends it. */
export async function checkScheduler({ scheduler }: Config, signal: AbortSignal): Promise<readonly Diagnosis[]> {
  const cluster = schedulerCluster(scheduler);
  if (cluster === undefined) return [];
  const shown = `${NAME} (${cluster.host}, port ${cluster.port})`;
  const engine = createSchedulerEngine({
    cluster,
    // The statement names no frame.
    frames: { pin: async () => undefined, handles: async () => [] },
    locate: () => undefined,
    timeoutMs: Math.max(TIMEOUT_MS, SLOW_START_MS),
  });
  try {
    const result = await engine.query({ tenant: 'default', requestId: 'svc-doctor', signal }, 'SELECT 1 AS one');
    result.close();
    return [{ status: 'ok', text: `${shown} runs SQL.` }];
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return [
      {
        status: 'problem',
        text: `${shown} does not run SQL: ${error.message}`,
        advice: 'Check that it is running, scheduler.url, and scheduler.token.',
      },
    ];
  } finally {
    await engine.close();
  }
}

/** The first statement of a Spark that has just started takes seconds. */
const SLOW_START_MS = 20_000;
