// POST /v1/codes/redeem: a code is credited to the account of the key that asks. Attempts are counted before a code is
// looked at. It must never say of a code that another account redeemed which one that was.

import { Elysia } from 'elysia'
import type { Key } from '../../accounts/keys'
import { balanceOf } from '../../billing/ledger/balances'
import { CODE_ATTEMPTS, type Code, countCodeAttempt, redeemCode } from '../../billing/selling/codes'
import type { Db } from '../../db/db'
import type { ErrorCode } from '../../lib/error-codes'
import { GatewayError, invalidRequest, SHOULD_RETRY } from '../../lib/errors'
import { parseBody, scanBody } from '../../lib/json/body'
import { formatUsd } from '../../lib/money'
import type { System } from '../../lib/system'
import type { BodyReader } from '../body'
import { exempt, type Listener, rest } from '../connection'
import { tolerated } from '../paths'
import { answerKeyed, type KeyedWorld } from '../with-key'

type CodeWorld = KeyedWorld & Pick<System, 'now'> & { db: Db }

export function codeRoutes(world: CodeWorld, bodies: BodyReader) {
  async function redeem(request: Request, listener: Listener | null): Promise<Response> {
    rest(listener, request, world.config)
    const response = await answerKeyed(world, request, 'openai', async (key, requestId) => {
      const body = await bodies.read(request, 'code', () => exempt(listener, request))
      const { code: text } = parseBody(scanBody(body))
      if (typeof text !== 'string' || text === '')
        throw invalidRequest('code', "Missing required parameter: 'code'.", 'missing_required_parameter')
      const shown = await redeemFor(world, key, text)
      return Response.json(shown, { headers: { 'x-request-id': requestId, 'cache-control': 'no-store' } })
    })
    rest(listener, request, world.config)
    return response.ok ? response : bodies.answer(request, response, listener)
  }

  const app = new Elysia({ name: 'codes' })
  for (const path of tolerated('/v1/codes/redeem'))
    app.post(path, ({ request, server }) => redeem(request, server), { parse: 'none' })
  return app
}

async function redeemFor({ db, now }: CodeWorld, key: Key, text: string): Promise<object> {
  const { account } = key
  const at = now()
  if (!(await countCodeAttempt(db, key.id, at))) throw tooManyAttempts(at)
  const result = await redeemCode(db, { text, account, keyId: key.id, now: at }).catch((error) => {
    if (error instanceof RangeError) throw refused(409, 'balance_too_large', error.message)
    throw error
  })
  if ('refusedBy' in result) throw refusalOfCode(result, account)
  const balance = await balanceOf(db, account)
  return {
    object: 'code_redemption',
    id: result.redeemed.id,
    amount_usd: formatUsd(result.redeemed.amountNano),
    account,
    balance_usd: formatUsd(balance?.balanceNano ?? 0),
    available_usd: formatUsd(balance?.availableNano ?? 0),
  }
}

function refusalOfCode(
  { refusedBy, code }: { refusedBy: string; code?: Code },
  account: string,
): GatewayError {
  if (refusedBy === 'unknown')
    return refused(404, 'code_not_found', 'There is no such code. Look for a typing error.')
  if (refusedBy === 'revoked')
    return refused(410, 'code_revoked', 'This code was revoked. Ask where it came from for another one.')
  if (refusedBy === 'expired')
    return refused(410, 'code_expired', 'This code has expired. Ask where it came from for another one.')
  const isOwn = code?.redeemedBy === account
  return refused(
    409,
    'code_redeemed',
    isOwn
      ? `This code was redeemed before, for this account: $${formatUsd(code?.amountNano ?? 0)} are on it.`
      : 'This code was redeemed before. Each code is worth its amount once.',
  )
}

/** An error that the same request meets again. */
function refused(status: number, code: ErrorCode, message: string): GatewayError {
  return new GatewayError(status, { code, message, param: 'code', headers: { [SHOULD_RETRY]: 'false' } })
}

function tooManyAttempts(now: number): GatewayError {
  const seconds = 60 - (Math.floor(now / 1_000) % 60)
  return new GatewayError(429, {
    code: 'Throttling.RateQuota',
    message: `A key may try ${CODE_ATTEMPTS.ofKey} codes a minute. Try again in ${seconds} s.`,
    headers: { 'retry-after': String(seconds) },
  })
}
