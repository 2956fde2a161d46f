"""The Rays that tests run and model. Only the newer one heeds label selectors of STRICT_PACK groups, and asks for the token at the agent."""
OLDEST = '2.52.0'  # that has a token
NEWEST = '2.60.0'  # when this was written
