// The console's words of events that are sent to operators. A page must not have words of its own.

export const events = {
  lasting: 'What lasts now',
  type: 'Event',
  subject: 'About',
  account: 'Customer',
  since: 'Since',
  nothingLasts: 'Nothing lasts now. Conditions are noted if the configuration has events.',
  sent: 'Sent',
  time: 'Time',
  recipient: 'Recipient',
  delivery: 'Delivery',
  deliveries: [
    ['pending', 'pending'],
    ['delivered', 'delivered'],
    ['failed', 'failed'],
  ] as const,
  attempts: 'Attempts',
  answer: 'Last answer',
  actions: 'Actions',
  again: 'Send again',
  test: 'Send a test',
  testTitle: 'Send a test event',
  testRecipient: 'Recipient, by its name in the configuration',
  none: 'No events were sent. Recipients are in the configuration, in events.to.',
}
