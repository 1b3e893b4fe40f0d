"""Planning: corpora of a query, the policy, the quality of evidence, and follow-up queries; pure functions."""
