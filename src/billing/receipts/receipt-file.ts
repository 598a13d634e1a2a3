// Checks a file of receipts with public keys and nothing else: no server, no database, no network. It must never use the code that
// makes receipts: it is what a customer would write from docs/receipts.md.

import type { KeyObject } from 'node:crypto'
import { isObject } from '../../lib/objects'
import { isSignedBy, readJws } from './jws'

const TYPE = 'gateway-receipt'
const VERSION = 1

/** The members of a receipt that a check reads. */
export interface CheckedReceipt {
  request: string
  charge: string
  account: string
  model: string
  amount_usd: string
  ended_at: string
  /** The text that was signed. */
  text: string
}

/** The receipts of a file, and a sentence for each line that is not right. */
interface CheckedFile {
  receipts: CheckedReceipt[]
  faults: string[]
}

/** Checks a file with a receipt on each line; empty lines mean nothing. */
export function checkReceipts(file: string, keys: ReadonlyMap<string, KeyObject>): CheckedFile {
  const checked: CheckedFile = { receipts: [], faults: [] }
  for (const [index, line] of file.split('\n').entries()) {
    const text = line.trim()
    if (text === '') continue
    const found = checkReceipt(text, keys)
    if (typeof found === 'string') checked.faults.push(`line ${index + 1}: ${found}`)
    else checked.receipts.push(found)
  }
  return checked
}

/** A receipt, or why it is none. */
function checkReceipt(text: string, keys: ReadonlyMap<string, KeyObject>): CheckedReceipt | string {
  const payload = signedText(text, TYPE, keys)
  if (typeof payload !== 'string') return payload.fault
  const receipt: unknown = JSON.parse(payload)
  if (!isObject(receipt) || receipt.version !== VERSION) return `it is not a receipt of version ${VERSION}`
  return { ...(receipt as object as CheckedReceipt), text: payload }
}

/** The text that a known key has signed, or why there is none. */
export function signedText(
  text: string,
  type: string,
  keys: ReadonlyMap<string, KeyObject>,
): string | { fault: string } {
  const read = readJws(text)
  if (!read) return { fault: 'it is not a signed text' }
  if (read.type !== type) return { fault: `it is signed as ${read.type}, not as ${type}` }
  const key = keys.get(read.kid)
  if (!key) return { fault: `it is signed with the key ${read.kid}, which is not among those given` }
  return isSignedBy(text, key) ? read.payload : { fault: 'its signature does not fit: it was changed' }
}
