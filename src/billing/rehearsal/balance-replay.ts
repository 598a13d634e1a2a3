// Replays the balances of accounts in ledger order with charges at other prices, to find the requests that an account could not have
// paid for. Pure. At the charged prices, the replay must equal the ledger.

/** A charge at other prices, in nano-dollars. */
export interface ReplayedCharge {
  account: string
  /** The amount that the account paid. */
  amountNano: number
  /** The part of the price that the account could not pay. */
  shortfallNano: number
  /** The price to try. */
  priceNano: number
  /** False for a charge without a hold, such as a late one: it takes what is available. */
  isHeld: boolean
}

export interface ReplayedPayment {
  /** Nano-dollars that the account would have paid. */
  paidNano: number
  /** Whether the request would have been refused with 402 before it was sent. */
  isRefused: boolean
}

interface Balance {
  /** The balance in the ledger. */
  booked: bigint
  /** The replayed balance minus the balance in the ledger: negative if the prices to try are higher. */
  apart: bigint
}

export class BalanceReplay {
  private readonly balances = new Map<string, Balance>()

  /** Adds a deposit, a correction or an allowance; a negative amount reduces the balance. */
  move(account: string, nano: number): void {
    this.of(account).booked += BigInt(nano)
  }

  charge({ account, amountNano, shortfallNano, priceNano, isHeld }: ReplayedCharge): ReplayedPayment {
    const balance = this.of(account)
    const [amount, price] = [BigInt(amountNano), BigInt(priceNano)]
    // An account with a shortfall had nothing left. Any other account had at least what it paid, whatever the order of the rows.
    const had = shortfallNano > 0 || balance.booked < amount ? amount : balance.booked
    const available = had + balance.apart
    const isShort = price > available && price > 0n
    // A request with a shortfall was accepted then, and is accepted again.
    const isRefused = isShort && isHeld && shortfallNano === 0
    const paid = isRefused ? 0n : isShort ? maxOf(available, 0n) : price
    balance.booked -= amount
    balance.apart += amount - paid
    return { paidNano: Number(paid), isRefused }
  }

  private of(account: string): Balance {
    const known = this.balances.get(account)
    if (known) return known
    const balance = { booked: 0n, apart: 0n }
    this.balances.set(account, balance)
    return balance
  }
}

function maxOf(one: bigint, other: bigint): bigint {
  return one > other ? one : other
}
