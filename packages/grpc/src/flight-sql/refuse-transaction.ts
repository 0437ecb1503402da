import { ServiceError } from '@svc/errors';

/** Fails where a client names a transaction: there are none. */
export function refuseTransaction(transactionId: Uint8Array | undefined): void {
  if (transactionId === undefined || transactionId.length === 0) return;
  throw new ServiceError('invalid_argument', 'The request names a transaction, and this server has none.', {
    hint: 'Every statement stands for itself: leave the transaction out.',
  });
}
