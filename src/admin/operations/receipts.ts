// The keys of receipts over the admin API: listed, and replaced. The private part must never be shown.

import { Type } from '@sinclair/typebox'
import { open } from '../../api-operation/operation'
import { listReceiptKeys, rotateReceiptKey } from '../../billing/receipts/receipt-keys'
import { changing, operationsIn } from '../operation'

const operation = operationsIn('Receipts')
const Keys = Type.Object({ keys: Type.Array(Type.Object({}, open)) }, open)

const list = operation({
  id: 'listReceiptKeys',
  endpoint: 'GET /receipts/keys',
  role: 'viewer',
  summary: 'Public keys of receipts',
  description: 'The one that signs is first.',
  reply: Keys,
  run: async ({ world }) => ({ keys: await listReceiptKeys(world) }),
})

const rotate = operation({
  id: 'rotateReceiptKey',
  endpoint: 'POST /receipts/keys/rotation',
  role: 'owner',
  summary: 'Replace the key of receipts',
  description: 'Receipts are signed with a new one from now on. The public key before it stays in the list.',
  reply: Keys,
  async run(context) {
    const { world } = context
    const [before] = await listReceiptKeys(world)
    const recorded = changing(context, {
      action: 'receipts.rotate',
      target: 'receipts',
      before: { kid: before?.kid },
    })
    // If another process replaced it at the same time, its key is new too.
    await rotateReceiptKey(world, recorded)
    return { keys: await listReceiptKeys(world) }
  },
})

export const receiptOperations = [list, rotate]
