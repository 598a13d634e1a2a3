// The console's words for a key holder's first page. A page must not have words of its own.

export const home = {
  title: 'Home',
  available: 'Available',
  held: 'Held now',
  today: 'Spent today',
  month: 'Spent this month',
  low: (available: string, lasts: string | null) =>
    `The balance is low: ${available} is available${lasts === null ? '' : `, which lasts ${lasts} at the rate of the last seven days`}.`,
  lowAdvice:
    'Top up with a code, or ask your operator. Requests that cost more than the balance are refused.',
  budget: 'Budget of this key',
  accountBudget: 'Budget of the account',
  allowance: 'Allowance left',
  notActive: (state: string) => `This key is ${state}: its requests are refused until it is active.`,
  heldTitle: 'What is held, and why',
  heldWhy: 'The maximum cost of a request is held while it runs. The unused part is released when it ends.',
  heldByOthers: 'Held for other keys of this account',
  nothingHeld: 'Nothing is held for this key.',
  operation: 'Operation',
  model: 'Model',
  since: 'Since',
  amount: 'Amount',
  noSpend: 'No requests in this time range. Try one in the playground, or connect a client.',
  topUp: 'Top up with a code',
  code: 'Code',
  codeHint: 'Five groups of five characters, such as AAAAA-BBBBB-…',
  redeem: 'Redeem',
  redeemed: (amount: string, available: string) => `${amount} was added. ${available} is available now.`,
} as const
