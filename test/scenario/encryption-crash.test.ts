// A process that is killed at any change while it encrypts rows with another key: every row stays readable, and the next process
// finishes the work.

import { expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { randomBytes } from '../../src/app/world'
import { answerAgain, claimKey, saveAnswer } from '../../src/billing/ledger/idempotency'
import { masterKeysOf } from '../../src/config/secrets'
import { createCodec } from '../../src/db/encryption/codec'
import { migrate } from '../../src/db/migrations'
import { databaseAddress, databaseKinds, openAddress } from '../support/databases/databases'
import { idOf, keysOfTexts, masterKeys } from '../support/databases/encrypted-gateway'
import { createRandom, seedOf } from '../support/random'

setDefaultTimeout(180_000)

const [first, second] = masterKeys

/** Rows of a database that a process encrypts with another key, until it is killed. */
const WORKER = join(import.meta.dir, '../support/processes/reencrypt-until-killed.ts')
const ROWS = 1_000

/** Runs it, and kills it after a number of changes. True if it finished before that. */
async function runKilled(words: readonly string[], changes: number): Promise<boolean> {
  const child = Bun.spawn([process.execPath, WORKER, ...words], { stdout: 'pipe', stderr: 'inherit' })
  let output = ''
  for await (const piece of child.stdout) {
    output += new TextDecoder().decode(piece)
    if (output.split('changed').length > changes) child.kill('SIGKILL')
  }
  await child.exited
  if (child.exitCode !== 0 && child.signalCode !== 'SIGKILL') throw new Error(`it failed: ${output}`)
  return child.exitCode === 0
}

for (const kind of databaseKinds) {
  test(`a process that is killed while it re-encrypts rows loses none of them, on ${kind}`, async () => {
    const address = await databaseAddress(kind)
    const seed = seedOf('ENCRYPTION_SEED')
    const random = createRandom(seed)
    const texts = new Map(
      Array.from({ length: ROWS }, (_, index) => [`charge_${index}`, `canary ${index} `.repeat(50)]),
    )
    const plain = openAddress(address)
    await migrate(plain)
    const key = (charge: string) => ({ account: 'alice', value: charge, requestHash: 'hash' })
    for (const [charge, body] of texts) {
      const answer = { status: 200, contentType: 'application/json', body }
      await plain.batch([claimKey(key(charge), charge, 1), saveAnswer(plain, charge, answer)])
    }
    await plain.close()
    const check = async (keys: Parameters<typeof masterKeysOf>[0]) => {
      const db = openAddress(address, createCodec(masterKeysOf(keys), randomBytes))
      for (const [charge, body] of texts) {
        expect({ seed, charge, body: (await answerAgain(db, key(charge)))?.body }).toEqual({
          seed,
          charge,
          body,
        })
      }
      const counts = await keysOfTexts(db)
      await db.close()
      return counts
    }
    let halfway = 0
    for (const [newest, older] of [
      [first, ''],
      [second, first],
    ] as const) {
      while (!(await runKilled([address, newest, older], 2 + random.below(25)))) {
        const counts = await check({ key: newest, olderKeys: older ? [older] : [] })
        if (Object.keys(counts).length === 2) halfway++
      }
      expect(await check({ key: newest })).toEqual({ [idOf(newest)]: ROWS })
    }
    expect({ seed, halfway: halfway > 0 }).toEqual({ seed, halfway: true })
  })
}
