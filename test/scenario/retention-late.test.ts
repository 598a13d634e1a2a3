// Late events for a closed charge: a success of its task, a request for its details, a repeat of its request. None moves money
// twice, and each is answered with the remaining data.

import { afterEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { folderPlace } from '../../src/backup/place'
import { balanceOf } from '../../src/billing/ledger/balances'
import { answerAgain, claimKey, saveAnswer } from '../../src/billing/ledger/idempotency'
import { hold, settle } from '../../src/billing/ledger/ledger'
import { signingKey } from '../../src/billing/proofs/checkpoint'
import { closingsOf } from '../../src/billing/proofs/closings'
import { verify } from '../../src/billing/proofs/verify'
import type { Db } from '../../src/db/db'
import { findRequest } from '../../src/request-log/look-up'
import { runRetention } from '../../src/retention/run'
import { endTask, type Success } from '../../src/tasks/finish'
import { askAgain, succeedLate } from '../../src/tasks/late-success'
import {
  type DatabaseKind,
  databaseKinds,
  openTestDatabase,
  temporaryFolder,
} from '../support/databases/databases'
import { makeCharge, makeSettlement, START } from '../support/databases/ledger-rows'
import { followTask, fund, readTask } from '../support/databases/task-rows'
import { VIDEO_NANO } from '../support/vendors/task'

setDefaultTimeout(120_000)

const NEXT_MONTH = Date.UTC(2026, 3, 2)
const LATER = Date.UTC(2026, 5, 1)
const BALANCE_NANO = 10 * VIDEO_NANO
const success: Success = {
  state: 'succeeded',
  document: {},
  videoUrl: 'https://files.example.com/1.mp4',
  usageJson: null,
}
const failure = { state: 'failed', document: {}, error: { code: 'InvalidParameter', message: 'no' } } as const

const open: Db[] = []
afterEach(async () => {
  for (const db of open.splice(0)) await db.close()
})

async function newDatabase(kind: DatabaseKind): Promise<Db> {
  const db = await openTestDatabase(kind)
  open.push(db)
  await fund(db, 'alice', BALANCE_NANO, START)
  return db
}

const randomBytes = (count: number) => crypto.getRandomValues(new Uint8Array(count))
const keyOf = (db: Db) => signingKey(db, randomBytes, LATER)

async function close(db: Db) {
  const place = folderPlace(temporaryFolder())
  return runRetention({ db, place, key: await keyOf(db), scratch: temporaryFolder(), now: () => LATER }, 1)
}

/** A charge of the next month, without which the last one of the closed month would stay. */
async function goOn(db: Db): Promise<void> {
  const charge = makeCharge(10, { createdAt: NEXT_MONTH })
  await hold(db, charge)
  await settle(db, charge, makeSettlement(10, { endedAt: NEXT_MONTH }))
}

async function expectRight(db: Db): Promise<void> {
  for (const whole of [false, true]) {
    const { problems } = await verify(db, { now: LATER, key: await keyOf(db), whole, onProgress() {} })
    expect({ whole, problems }).toEqual({ whole, problems: [] })
  }
}

function lateTests(kind: DatabaseKind): void {
  test('a success of a task whose released charge is closed changes nothing', async () => {
    const db = await newDatabase(kind)
    const options = (now: number) => ({ now, webhookId: `msg_${now}` })
    const { id } = await followTask(db, { createdAt: START })
    const paid = await followTask(db, { createdAt: START })
    await endTask(db, await readTask(db, id), failure, options(START + 1_000))
    await endTask(db, await readTask(db, paid.id), success, options(START + 2_000))
    await goOn(db)
    expect((await close(db)).closed).toMatchObject([{ month: '2026-03', charges: 2 }])
    await expectRight(db)
    const before = await balanceOf(db, 'alice')
    const task = await readTask(db, id)
    expect(await succeedLate(db, task, success, options(LATER))).toBeUndefined()
    expect(await askAgain(db, task, LATER)).toBe(false)
    expect(await endTask(db, await readTask(db, paid.id), success, options(LATER))).toBeFalsy()
    expect(await readTask(db, id)).toEqual(task)
    expect(await balanceOf(db, 'alice')).toEqual(before as never)
    expect(before?.balanceNano).toBe(BALANCE_NANO - VIDEO_NANO - 10)
    await expectRight(db)
  })

  test('a month waits for a task that runs, and then closes without its charge, which ended later', async () => {
    const db = await newDatabase(kind)
    const charge = makeCharge(10, { createdAt: START })
    await hold(db, charge)
    await settle(db, charge, makeSettlement(10, { endedAt: START }))
    const { id } = await followTask(db, { createdAt: START, deadlineAt: LATER })
    await goOn(db)
    expect(await close(db)).toEqual({ closed: [], waiting: { month: '2026-03', open: 1 } })
    await endTask(db, await readTask(db, id), success, { now: NEXT_MONTH + 5, webhookId: 'msg_1' })
    expect((await close(db)).closed).toMatchObject([
      { month: '2026-03', charges: 1 },
      { month: '2026-04', charges: 1 },
    ])
    await expectRight(db)
    expect(await balanceOf(db, 'alice')).toMatchObject({
      balanceNano: BALANCE_NANO - VIDEO_NANO - 20,
      heldNano: 0,
    })
  })

  test('a request is looked up with the archive of its charge, and a repeat of it gets its answer', async () => {
    const db = await newDatabase(kind)
    const id = `req_${START.toString(16).padStart(12, '0')}${'0'.repeat(20)}`
    const charge = makeCharge(10, { id, createdAt: START })
    const key = { account: 'alice', value: 'once', requestHash: 'hash' }
    await hold(db, charge, [claimKey(key, id, START)])
    const answer = { status: 200, contentType: 'application/json', body: '{}' }
    await settle(db, charge, makeSettlement(10, { endedAt: START + 5 }), [saveAnswer(db, id, answer)])
    await goOn(db)
    const requests = { find: async () => undefined } as never
    expect(await findRequest({ db, requests }, id)).toMatchObject({ closing: undefined, charges: [{ id }] })
    await close(db)
    const [closing] = await closingsOf(db)
    expect(await findRequest({ db, requests }, id)).toMatchObject({ closing: closing as object, charges: [] })
    const young = `req_${LATER.toString(16).padStart(12, '0')}${'0'.repeat(20)}`
    for (const unknown of ['req_1', young])
      expect(await findRequest({ db, requests }, unknown)).toBeUndefined()
    expect(await answerAgain(db, key)).toEqual({ ...answer, charge: id })
    // The same charge again would have to be open first, and its key is taken.
    expect(await hold(db, charge, [claimKey(key, id, LATER)])).toEqual({ refusedBy: 'idempotency' })
    await expectRight(db)
  })
}

describe.each(databaseKinds)('for a closed charge on %s', lateTests)
