"""What people look at: figures and tables. No computation lives here."""
