import { ServiceError } from '@svc/errors';
import type { WorkerLink } from './worker-link.ts';

/** What all workers together hold of bodies that are not decoded yet. */
export interface HeldBytes {
  /** Notes what a worker holds now; `out_of_memory` where all of them hold too much. */
  set(link: WorkerLink, bytes: number): void;
  forget(link: WorkerLink): void;
}

/** Nothing held yet, of at most `maxBytes`. */
export function createHeldBytes(maxBytes: number): HeldBytes {
  const held = new Map<WorkerLink, number>();
  return {
    set(link, bytes) {
      held.set(link, bytes);
      const total = [...held.values()].reduce((sum, each) => sum + each, 0);
      if (total <= maxBytes) return;
      throw new ServiceError('out_of_memory', `The uploads being decoded take more than ${maxBytes} bytes together.`, {
        hint: 'Send the upload again when others are done, or in smaller parts.',
      });
    },
    forget(link) {
      held.delete(link);
    },
  };
}
