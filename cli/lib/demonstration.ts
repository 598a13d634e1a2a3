// Prepares the sandbox for immediate use: a key with a balance, and a command line to paste. It must never run on real money,
// because it credits money that nobody has paid.

import { keyStatusOf } from '../../src/accounts/key-json'
import { createKey, findKey, type Key, makeSecret, rollKey, unlimited } from '../../src/accounts/keys'
import type { Server } from '../../src/app/server'
import { newId, randomBytes } from '../../src/app/world'
import { balanceOf } from '../../src/billing/ledger/balances'
import { addCredit } from '../../src/billing/ledger/ledger'
import type { Catalogue } from '../../src/catalogue/models'
import { type OperationName, operationOf } from '../../src/contract/operations'
import type { Db } from '../../src/db/db'
import { secretOf } from '../../src/db/encryption/secrets'
import { NANO_PER_USD } from '../../src/lib/money'
import { makeWebhookSecret } from '../../src/webhooks/secrets'
import { callable } from '../process/server-address'

const DEMO_KEY = 'demo'
const DEMO_BALANCE_NANO = 10 * NANO_PER_USD
/** Maximum length of a line of a folded body, with room for its surroundings on a terminal of 80 columns. */
const FOLDED_COLUMNS = 70
/** A URL that is never fetched. */
const EXAMPLE_IMAGE = 'https://example.com/fox.png'

export interface Demonstration {
  name: string
  secret: string
  /** A command that shows an answer; undefined if the configuration has no model for one. */
  request: { line: string; folded: string } | undefined
}

/** Operations to try, simplest first. Edits of files are omitted, because there is no file to send. */
const TRIED: readonly OperationName[] = ['chat', 'messages', 'embeddings', 'speech', 'image', 'video']

/** Prepares the demo key. Its secret is the same at every start, so that clients that use it continue working. */
export async function prepareDemonstration({ world, url }: Server): Promise<Demonstration> {
  const { db, now, catalogue } = world
  const { key, secret } = await prepareKey(db, now())
  await fill(db, key.account, now())
  return { name: key.name, secret, request: requestToTry(catalogue, callable(url), secret) }
}

function requestToTry({ models }: Catalogue, url: string, secret: string): Demonstration['request'] {
  const all = [...models.values()].flat()
  const usual = TRIED.flatMap((name) => all.filter(({ family }) => family.operation === name))
  // Preferably a model that needs no picture, and that its vendor does not retire.
  const textual = usual.filter(({ referenceImages }) => !referenceImages?.min)
  const model = textual.find(({ retirement }) => !retirement) ?? textual[0] ?? usual[0]
  const plain = model?.family.plain
  if (!model || !plain) return undefined
  const { name, path } = operationOf(model.family.operation)
  const request = {
    text: 'Hello!',
    ...(model.referenceImages?.min && plain.fields.includes('images') ? { images: [EXAMPLE_IMAGE] } : {}),
  }
  const stream = name === 'chat' || name === 'messages' ? { stream: true } : {}
  const body = { model: model.id, ...stream, ...plain.body(request, model) }
  const words = (text: string) => [
    `curl -N ${url}${path}${name === 'video' ? '?wait=60' : ''}`,
    ...(name === 'speech' ? ['-o hello.audio'] : []),
    `-H 'Authorization: Bearer ${secret}'`,
    "-H 'Content-Type: application/json'",
    `-d '${text.replaceAll("'", "'\\''")}'`,
  ]
  const line = words(JSON.stringify(body)).join(' ')
  // Only Unix shells continue a line after a backslash.
  const folded = process.platform === 'win32' ? line : words(foldJson(body)).join(' \\\n  ')
  return { line, folded }
}

/** An object as JSON, broken into lines between its members. */
function foldJson(body: object): string {
  const lines: string[] = []
  for (const [name, value] of Object.entries(body)) {
    const member = `${JSON.stringify(name)}:${JSON.stringify(value)}`
    const last = lines.at(-1)
    if (last === undefined || last.length + member.length > FOLDED_COLUMNS) lines.push(member)
    else lines[lines.length - 1] = `${last},${member}`
  }
  return `{${lines.join(',\n    ')}}`
}

/** The first of `demo`, `demo-2` and so on that has not been revoked or limited, each with its own secret. */
async function prepareKey(db: Db, now: number): Promise<{ key: Key; secret: string }> {
  for (let number = 1; ; number++) {
    const name = number === 1 ? DEMO_KEY : `${DEMO_KEY}-${number}`
    const before = await findKey(db, name)
    if (before && !isUnlimited(before, now)) continue
    const secret = await secretOf(db, `key ${name}`, () => makeSecret(randomBytes), now)
    if (before) {
      await rollKey(db, before.id, secret, now)
    } else {
      const webhookSecret = makeWebhookSecret(randomBytes)
      const own = { id: newId('key'), name, account: DEMO_KEY, secret, webhookSecret, createdAt: now }
      await createKey(db, { ...own, ...unlimited })
    }
    return { key: (await findKey(db, name)) as Key, secret }
  }
}

function isUnlimited(key: Key, now: number): boolean {
  return keyStatusOf(key, now) === 'active' && key.models === null && key.budgetNano === null
}

/** Tops up the available balance to that of the demonstration. */
async function fill(db: Db, account: string, now: number): Promise<void> {
  const balance = await balanceOf(db, account)
  const missingNano = DEMO_BALANCE_NANO - (balance?.availableNano ?? 0)
  if (missingNano <= 0) return
  await addCredit(db, { id: newId('tr'), account, amountNano: missingNano, now, note: 'sandbox start' })
}
