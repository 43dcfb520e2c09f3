simulate_facebook = None
