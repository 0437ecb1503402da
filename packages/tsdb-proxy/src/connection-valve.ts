import type { Socket } from 'node:net';
import type { Dispatcher } from 'undici';

/** Stands between one connection and the parser of its answers. */
export interface ConnectionValve {
  /** Takes the connection, or the one that replaces it. */
  attach(socket: Socket): void;
  /** Stands between the client and the reader of an answer as well. */
  handler(reader: Dispatcher.DispatchHandler): Dispatcher.DispatchHandler;
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

  const valved = (controller: Dispatcher.DispatchController): Dispatcher.DispatchController => ({
    get aborted() {
      return controller.aborted;
    },
    get paused() {
      return isShut;
    },
    get reason() {
      return controller.reason;
    },
    abort: (reason) => controller.abort(reason),
    pause: () => {
      isShut = true;
    },
    resume: open,
  });

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
      let own: Dispatcher.DispatchController | undefined;
      const valvedOnce = (controller: Dispatcher.DispatchController) => (own ??= valved(controller));
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
