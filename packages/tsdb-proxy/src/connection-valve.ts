import type { Socket } from 'node:net';
import type { Dispatcher } from 'undici';

/** Stands between one connection and the parser of its answers. */
export interface ConnectionValve {
  /** Takes the connection, or the one that replaces it. */
  attach(socket: Socket): void;
  /** Stands between the client and the reader of an answer as well. */
  handler(reader: Dispatcher.DispatchHandler): Dispatcher.DispatchHandler;
}

interface Valve {
  open(): void;
  shut(): void;
  isShut(): boolean;
}

/** A class, because an object with getters of its own for every request costs more than the request. */
class ValvedController implements Dispatcher.DispatchController {
  readonly #controller: Dispatcher.DispatchController;
  readonly #valve: Valve;

  constructor(controller: Dispatcher.DispatchController, valve: Valve) {
    this.#controller = controller;
    this.#valve = valve;
  }

  get aborted(): boolean {
    return this.#controller.aborted;
  }

  get paused(): boolean {
    return this.#valve.isShut();
  }

  get reason(): Error | null {
    return this.#controller.reason;
  }

  abort(reason: Error): void {
    this.#controller.abort(reason);
  }

  pause(): void {
    this.#valve.shut();
  }

  resume(): void {
    this.#valve.open();
  }
}

/**
 * Holds a connection back while its reader is slow. undici's own way is to pause its parser, and a paused parser takes
 * the whole process down when the database closes the connection (mended only in version 8, which does not run on
 * Node 20). So the parser never pauses: it is the socket that has nothing to read.
 */
export function createConnectionValve(): ConnectionValve {
  let socket: Socket | undefined;
  let isShut = false;

  const open = () => {
    if (!isShut) return;
    isShut = false;
    // Not at once: the reader may ask from inside the parser, which cannot be entered twice.
    queueMicrotask(() => {
      if (!isShut) socket?.emit('readable');
    });
  };

  const shut = () => {
    isShut = true;
  };
  const valve: Valve = { open, shut, isShut: () => isShut };

  return {
    attach(opened) {
      socket = opened;
      isShut = false;
      const read: (size?: number) => unknown = opened.read.bind(opened);
      opened.read = (size?: number) => (isShut && opened === socket ? null : read(size));
      // A reset under its own code would be taken for the proper end of a body that only the close delimits.
      opened.on('error', (error: NodeJS.ErrnoException) => {
        if (error.code === 'ECONNRESET') error.code = 'UND_ERR_RESET';
      });
    },

    handler(reader) {
      let own: ValvedController | undefined;
      const valvedOnce = (controller: Dispatcher.DispatchController) =>
        (own ??= new ValvedController(controller, valve));
      return {
        onRequestStart(controller, context) {
          reader.onRequestStart?.(valvedOnce(controller), context);
        },
        onResponseStart(controller, status, headers, message) {
          reader.onResponseStart?.(valvedOnce(controller), status, headers, message);
        },
        onResponseData(controller, chunk) {
          reader.onResponseData?.(valvedOnce(controller), chunk);
        },
        onResponseEnd(controller, trailers) {
          open();
          reader.onResponseEnd?.(valvedOnce(controller), trailers);
        },
        onResponseError(controller, error) {
          open();
          reader.onResponseError?.(valvedOnce(controller), error);
        },
      };
    },
  };
}
