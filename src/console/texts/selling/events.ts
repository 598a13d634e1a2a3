// The console's words of events that are sent to operators. A page must not have words of its own.

export const events = {
  lasting: 'Active conditions',
  type: 'Event',
  about: 'About',
  account: 'Customer',
  since: 'Since',
  nothingLasts: 'No active conditions. They are recorded if the configuration has events.',
  sent: 'Sent',
  time: 'Time',
  state: 'State',
  states: { began: 'began', continues: 'continues', ended: 'ended' } as Readonly<Record<string, string>>,
  recipient: 'Recipient',
  delivery: 'Delivery',
  deliveries: { pending: 'pending', delivered: 'delivered', failed: 'failed' } as Readonly<
    Record<string, string>
  >,
  attempts: 'Attempts',
  answer: 'Last answer',
  actions: 'Actions',
  again: 'Send again',
  test: 'Send a test',
  testMeans: 'The recipient gets an event of the type test at once.',
  noRecipients: 'The configuration has no recipients: name some in events.to, and reload it.',
  none: 'No events were sent.',
  noneFound: 'No events match. Change or clear the filters.',
  noneAbout: 'No events about this customer were sent in the last 30 days.',
}
