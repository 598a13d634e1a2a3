// What makes the sandbox usable at once: a key with a balance, and a command line to paste that uses it.
// Only for simulated money: it credits an account from nothing.

import type { Db } from '../src/db/db'
import { createKey, findKey, type Key, makeSecret, rollKey } from '../src/keys'
import { addCredit, balanceOf } from '../src/ledger'
import { NANO_PER_USD } from '../src/lib/money'
import type { Server } from '../src/server'
import { makeWebhookSecret } from '../src/webhooks/secrets'
import { newId, randomBytes } from '../src/world'
import { CommandFailed } from './errors'
import { unlimited } from './key-settings'
import { statusOf } from './key-view'

const DEMO_KEY = 'demo'
const DEMO_BALANCE_NANO = 10 * NANO_PER_USD

export interface Demonstration {
  name: string
  secret: string
  /** One line that streams an answer. */
  commandLine: string
}

/** The secret is new at every start: only its hash is kept. */
export async function prepareDemonstration({ world, url }: Server): Promise<Demonstration> {
  const { db, now, catalogue } = world
  const secret = makeSecret(randomBytes)
  const key = await prepareKey(db, secret, now())
  await fill(db, key.account, now())
  const model = [...catalogue.models.values()].flat().find(({ family }) => family.operation === 'chat')
  if (!model) throw new CommandFailed('The configuration has no chat model to try.')
  const body = { model: model.id, stream: true, messages: [{ role: 'user', content: 'Hello!' }] }
  const words = [
    `curl -N ${reachable(url)}/v1/chat/completions`,
    `-H 'Authorization: Bearer ${secret}'`,
    "-H 'Content-Type: application/json'",
    `-d '${JSON.stringify(body)}'`,
  ]
  return { name: key.name, secret, commandLine: words.join(' ') }
}

/** Gives the first of `demo`, `demo-2` and so on that nobody has revoked or limited the secret. */
async function prepareKey(db: Db, secret: string, now: number): Promise<Key> {
  for (let number = 1; ; number++) {
    const name = number === 1 ? DEMO_KEY : `${DEMO_KEY}-${number}`
    const key = await findKey(db, name)
    if (!key) {
      const webhookSecret = makeWebhookSecret(randomBytes)
      const own = { id: newId('key'), name, account: DEMO_KEY, secret, webhookSecret, createdAt: now }
      await createKey(db, { ...own, ...unlimited })
    } else if (isUnlimited(key, now)) {
      await rollKey(db, key.id, secret)
    } else {
      continue
    }
    return (await findKey(db, name)) as Key
  }
}

function isUnlimited(key: Key, now: number): boolean {
  return statusOf(key, now) === 'active' && key.models === null && key.budgetNano === null
}

/** Brings what an account may spend up to the demonstration's balance. */
async function fill(db: Db, account: string, now: number): Promise<void> {
  const balance = await balanceOf(db, account)
  const missingNano = DEMO_BALANCE_NANO - (balance?.availableNano ?? 0)
  if (missingNano <= 0) return
  await addCredit(db, { id: newId('tr'), account, amountNano: missingNano, now, note: 'sandbox start' })
}

/** An address that stands for all of this machine is not one to call. */
function reachable(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:')
}
