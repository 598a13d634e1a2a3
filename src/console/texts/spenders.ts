// The console's words for spenders below a key. A part must not have words of its own.

export const spenders = {
  title: 'Spenders',
  own: 'Tokens and connected programs',
  empty: 'None: its requests name no spender, and it has no tokens.',
  noneOwn: 'None. Make tokens with POST /v1/tokens, or connect a program.',
  name: 'Name',
  kind: 'Kind',
  kinds: { browser: 'web page', mcp: 'program', user: 'end user', tag: 'tag' },
  used: 'Budget used',
  noBudget: 'no budget',
  rate: 'Requests per minute',
  expires: 'Expires',
  status: 'Status',
  actions: 'Actions',
  revoke: 'Revoke…',
  revokeTitle: (name: string) => `Revoke ${name} permanently`,
  revokeMeans: 'It is refused within a second. Running requests continue.',
  forget: 'Forget…',
  forgetTitle: (name: string) => `Erase the name ${name}`,
  forgetMeans: (name: string) =>
    `The totals stay under an id. If a request names ${name} again, a new spender with a new budget is created.`,
}
