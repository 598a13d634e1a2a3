// Items that callers store for the gateway: reasoning and summaries, sealed for their account. An altered item must be
// rejected with its place: a conversation would silently lose its past. Reasoning of another account or of a removed key is
// omitted.

import type { Operation } from '../contract/operations'
import { type GatewayError, invalidRequest } from '../lib/errors'
import { isObject } from '../lib/objects'
import { SEALED_PREFIX, type Sealer, sealedInBase64 } from '../lib/sealing'

/**
 * The owner is part of the sealed text, so that a text of another account is not reported as altered. No account has
 * this name, under which texts of earlier versions were sealed.
 */
const OWNED = ' owned'

interface Owner {
  sealer: Sealer
  account: string
}

/** Seals a text for its owner. */
export function sealFor({ sealer, account }: Owner, text: string): string {
  return sealer.seal(`${account}\n${text}`, OWNED)
}

/** The text that was sealed for its owner; undefined for any other. */
export function openFor({ sealer, account }: Owner, sealed: string): string | undefined {
  const owned = sealer.open(sealed, OWNED)
  if (owned === undefined) return sealer.open(sealed, account)
  const end = owned.indexOf('\n')
  return owned.slice(0, end) === account ? owned.slice(end + 1) : undefined
}

/** Whether a text was sealed here, for any account, and is unchanged. */
function isGenuine({ sealer, account }: Owner, sealed: string): boolean {
  return sealer.open(sealed, OWNED) !== undefined || sealer.open(sealed, account) !== undefined
}

/** Sealed members of an item or a block. */
const SEALED_MEMBERS = ['encrypted_content', 'signature', 'data'] as const

/** Throws 400 for an item that was sealed here and altered since, and for a summary that this account cannot open. */
export function checkSealed(
  owner: Owner,
  { keepsAnswers, dialect }: Pick<Operation, 'keepsAnswers' | 'dialect'>,
  { input, messages, contents }: { input?: unknown; messages?: unknown; contents?: unknown },
): void {
  if (keepsAnswers) checkItems(owner, input, 'input')
  else if (dialect === 'gemini' && Array.isArray(contents)) {
    for (const [place, content] of contents.entries())
      checkParts(owner, isObject(content) ? content.parts : undefined, `contents[${place}].parts`)
  } else if (dialect === 'messages' && Array.isArray(messages))
    for (const [place, message] of messages.entries())
      checkItems(owner, isObject(message) ? message.content : undefined, `messages[${place}].content`)
}

function checkItems(owner: Owner, items: unknown, path: string): void {
  if (!Array.isArray(items)) return
  for (const [place, item] of items.entries()) {
    if (!isObject(item)) continue
    for (const member of SEALED_MEMBERS) {
      const sealed = item[member]
      if (typeof sealed !== 'string' || !sealed.startsWith(SEALED_PREFIX)) continue
      const isSummary = item.type === 'compaction'
      const isRead = isSummary
        ? openFor(owner, sealed) !== undefined
        : !owner.sealer.knows(sealed) || isGenuine(owner, sealed)
      if (!isRead) throw altered(`${path}[${place}].${member}`, isSummary)
    }
  }
}

/** Signatures of parts, which clients read as bytes. */
function checkParts(owner: Owner, parts: unknown, path: string): void {
  if (!Array.isArray(parts)) return
  for (const [place, part] of parts.entries()) {
    for (const member of ['thoughtSignature', 'thought_signature']) {
      const signature = isObject(part) ? part[member] : undefined
      const sealed = typeof signature === 'string' ? sealedInBase64(signature) : undefined
      if (sealed === undefined || !owner.sealer.knows(sealed) || isGenuine(owner, sealed)) continue
      throw altered(`${path}[${place}].${member}`, false)
    }
  }
}

function altered(path: string, isSummary: boolean): GatewayError {
  const what = isSummary
    ? 'It was altered, or was made for another account or by another gateway, and what it holds would be lost. Send it as it came, or the conversation itself'
    : 'It was altered. Send it as it came, or leave its item out'
  return invalidRequest(
    path,
    `Invalid '${path}': the sealed content could not be verified. ${what}; a repeat cannot help.`,
    'invalid_encrypted_content',
  )
}
