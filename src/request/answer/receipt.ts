// Gives callers the receipts of their answers: in a header, or with the last event of a stream. A receipt that cannot be made must
// never hold back an answer: it is paid, and its receipt can be requested later.

import { findReceipt, receiptText, signReceipt } from '../../billing/receipts/receipts'
import { isObject } from '../../lib/objects'
import { dataIn, eventsIn } from '../../lib/sse'
import type { RequestLogRow } from '../../request-log/row'
import type { CheckedRequest } from '../check'
import type { Reservation } from '../reservation'
import { routeHeaders } from '../route/explanation'
import type { RequestWorld } from '../world'

export const RECEIPT_HEADER = 'x-gateway-receipt'

type ReceiptWorld = Pick<RequestWorld, 'db' | 'config' | 'receiptKeys' | 'log'>

/** The receipt of a request that has ended; undefined if it cannot be made now. Never rejects. */
export function receiptOf(
  world: ReceiptWorld,
  { charged, logRow }: Pick<Reservation, 'charged' | 'logRow'>,
): string | undefined | Promise<string | undefined> {
  if (!world.config.receipts || !charged) return undefined
  const text = receiptText(charged)
  return signed(world, logRow.id, () => text)
}

/** Headers with the receipt of a request that has ended. */
export function receiptHeaders(
  world: ReceiptWorld,
  reservation: Pick<Reservation, 'charged' | 'logRow'> | undefined,
): Record<string, string> | Promise<Record<string, string>> {
  const receipt = reservation && receiptOf(world, reservation)
  return receipt instanceof Promise ? receipt.then(headersOf) : headersOf(receipt)
}

function headersOf(receipt: string | undefined): Record<string, string> {
  return receipt === undefined ? {} : { [RECEIPT_HEADER]: receipt }
}

/** Headers of an error: its receipt and its route, if it has them. */
export async function errorHeaders(
  world: ReceiptWorld,
  at: { request: CheckedRequest | undefined; reservation: Reservation | undefined; logRow: RequestLogRow },
  incoming: Parameters<typeof routeHeaders>[1],
): Promise<Record<string, string>> {
  const { request, reservation, logRow } = at
  const route = request?.route ? routeHeaders(logRow, incoming) : {}
  return { ...(await receiptHeaders(world, reservation)), ...route }
}

/** Headers with the receipt of an earlier request, found by its charge. */
export async function earlierReceipt(world: ReceiptWorld, charge: string): Promise<Record<string, string>> {
  if (!world.config.receipts) return {}
  const receipt = await signed(
    world,
    charge,
    async () => (await findReceipt(world.db, charge))?.text ?? undefined,
  )
  return headersOf(receipt)
}

async function signed(
  { receiptKeys, log }: ReceiptWorld,
  request: string,
  textOf: () => string | undefined | Promise<string | undefined>,
): Promise<string | undefined> {
  try {
    const text = await textOf()
    return text === undefined ? undefined : signReceipt(await receiptKeys.current(), text)
  } catch (error) {
    log('receipt_not_signed', { request, error: String(error) })
    return undefined
  }
}

/**
 * The closing events of a stream with a receipt: as a member of the last one that is an object, otherwise as a comment after them,
 * which clients ignore.
 */
export function withReceipt(closing: Uint8Array | undefined, receipt: string): Uint8Array {
  const whole = Buffer.from(closing ?? [])
  const events = [...eventsIn(whole, 0)]
  const index = events.findLastIndex((event) => objectOf(event) !== undefined)
  const last = events[index]
  const json = last === undefined ? undefined : objectOf(last)
  if (last === undefined || !json)
    return Buffer.concat([whole, Buffer.from(`: ${RECEIPT_HEADER}: ${receipt}\n\n`)])
  const noted = { ...json, gateway: { ...(isObject(json.gateway) && json.gateway), receipt } }
  const start = Buffer.byteLength(events.slice(0, index).join(''), 'latin1')
  const head = last.split('\n').filter((line) => !line.startsWith('data:') && line.trim() !== '')
  const event = [...head, `data: ${JSON.stringify(noted)}`, '', ''].join('\n')
  return Buffer.concat([
    whole.subarray(0, start),
    Buffer.from(event),
    whole.subarray(start + Buffer.byteLength(last, 'latin1')),
  ])
}

function objectOf(event: string): Record<string, unknown> | undefined {
  try {
    const json: unknown = JSON.parse(Buffer.from(dataIn(event) ?? '', 'latin1').toString())
    return isObject(json) ? json : undefined
  } catch {
    return undefined
  }
}
