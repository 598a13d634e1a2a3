// Checks a file of receipts and proofs with only the public keys: without a server, a database or a network. It must never use the
// code that creates them: a customer could write the same from docs/receipts.md.

import { createHash, type KeyObject } from 'node:crypto'
import { formatUsd, parseUsd } from '../../lib/money'
import { isObject } from '../../lib/objects'
import { isSignedBy, readJws } from './jws'

const RECEIPT_TYPE = 'gateway-receipt'
const MONTH_TYPE = 'gateway-month'
const VERSION = 1

type Keys = ReadonlyMap<string, KeyObject>

/** The members of a receipt that the check reads. */
export interface CheckedReceipt {
  request: string
  account: string
  amount_usd: string
  ended_at: string
  /** The text that was signed. */
  text: string
}

/** A month whose charges are those that were sealed. */
export interface CheckedMonth {
  account: string
  month: string
  charges: number
  amount_usd: string
}

/** The receipts and months of a file, and a sentence for each faulty one. */
interface CheckedFile {
  receipts: CheckedReceipt[]
  months: CheckedMonth[]
  faults: string[]
}

interface Page {
  seal: string
  statement: { number: number; used_usd: string } | null
  data: { sha256: string; amount_usd: string; receipt: string | null }[]
}

/** Checks a file with a receipt, or a page of a proof, on each line; empty lines are ignored. */
export function checkReceipts(file: string, keys: Keys): CheckedFile {
  const checked: CheckedFile = { receipts: [], months: [], faults: [] }
  const pages: Page[] = []
  for (const [index, line] of file.split('\n').entries()) {
    const text = line.trim()
    if (text === '') continue
    const found = text.startsWith('{') ? pageIn(text) : checkReceipt(text, keys)
    if (typeof found === 'string') checked.faults.push(`line ${index + 1}: ${found}`)
    else if ('text' in found) checked.receipts.push(found)
    else pages.push(found)
  }
  for (const [seal, ofMonth] of Map.groupBy(pages, (page) => page.seal))
    checkMonth(seal, ofMonth, keys, checked)
  return checked
}

/** A receipt, or the reason why the text is invalid. */
function checkReceipt(text: string, keys: Keys): CheckedReceipt | string {
  const payload = signedText(text, RECEIPT_TYPE, keys)
  if (typeof payload !== 'string') return payload.fault
  const receipt: unknown = JSON.parse(payload)
  if (!isObject(receipt) || receipt.version !== VERSION) return `it is not a receipt of version ${VERSION}`
  return { ...(receipt as object as CheckedReceipt), text: payload }
}

/** The text that a known key has signed, or the reason why it is invalid. */
function signedText(text: string, type: string, keys: Keys): string | { fault: string } {
  const read = readJws(text)
  if (!read) return { fault: 'it is not a signed text' }
  if (read.type !== type) return { fault: `it is signed as ${read.type}, not as ${type}` }
  const key = keys.get(read.kid)
  if (!key) return { fault: `it is signed with the key ${read.kid}, which is not among those given` }
  return isSignedBy(text, key) ? read.payload : { fault: 'its signature does not fit: it was changed' }
}

function pageIn(text: string): Page | string {
  try {
    const page = JSON.parse(text) as Page
    if (typeof page.seal === 'string' && Array.isArray(page.data)) return page
  } catch {
    // The fault is reported below.
  }
  return 'it is neither a receipt nor a page of a proof'
}

/** Checks all pages of a month: that they contain each sealed charge, and the receipts of the file. */
function checkMonth(seal: string, pages: readonly Page[], keys: Keys, checked: CheckedFile): void {
  const payload = signedText(seal, MONTH_TYPE, keys)
  if (typeof payload !== 'string') {
    checked.faults.push(`a proof: ${payload.fault}`)
    return
  }
  const sealed = JSON.parse(payload) as CheckedMonth & { head: string }
  const { account, month } = sealed
  const found = chainOf(sealed, pages)
  const faults = [...found.faults]
  if (
    found.head !== sealed.head ||
    found.charges !== sealed.charges ||
    found.amount_usd !== sealed.amount_usd
  )
    faults.push(
      `its ${found.charges} charges of $${found.amount_usd} are not the ${sealed.charges} of $${sealed.amount_usd} that were sealed: pages are missing or in another order, or a charge was changed since`,
    )
  for (const { statement } of pages.slice(0, 1))
    if (statement && statement.used_usd !== sealed.amount_usd)
      faults.push(`statement ${statement.number} says $${statement.used_usd}, the seal $${sealed.amount_usd}`)
  for (const receipt of checked.receipts)
    if (
      receipt.account === account &&
      receipt.ended_at.startsWith(month) &&
      !found.hashes.has(sha256(receipt.text))
    )
      faults.push(`the receipt of ${receipt.request} is not among its charges`)
  checked.faults.push(...faults.map((fault) => `${account} in ${month}: ${fault}`))
  if (faults.length === 0)
    checked.months.push({ account, month, charges: sealed.charges, amount_usd: sealed.amount_usd })
}

/** The hash over the charges of pages, and their sums. */
function chainOf({ account, month }: CheckedMonth, pages: readonly Page[]) {
  const hashes = new Set<string>()
  const faults: string[] = []
  let head = sha256(`${MONTH_TYPE} ${VERSION}\n${account}\n${month}`)
  let sumNano = 0n
  let charges = 0
  for (const { sha256: hash, amount_usd: usd, receipt } of pages.flatMap(({ data }) => data)) {
    if (receipt !== null && (sha256(receipt) !== hash || amountIn(receipt) !== usd))
      faults.push(`the charge ${charges + 1} is not the one of its hash`)
    head = sha256(`${head}\n${hash}\n${usd}`)
    hashes.add(hash)
    sumNano += BigInt(parseUsd(usd) ?? 0)
    charges++
  }
  return { head, charges, amount_usd: formatUsd(sumNano), hashes, faults }
}

function amountIn(receipt: string): unknown {
  return (JSON.parse(receipt) as { amount_usd?: unknown }).amount_usd
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
