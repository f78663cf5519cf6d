(* Statements with derivatives in them: what they mean over the real numbers, and the expressions that the kernel computes with. *)
From Coq Require Import ZArith NArith.
From Coq Require List.
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From mathcomp Require Import boolp classical_sets functions reals topology normedtype derive sequences exp realfun.
From Attention Require Import Rationals Expressions Functions Rules Derivatives Calculus Tables Slopes.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory numFieldNormedType.Exports.
Local Open Scope ring_scope.

Inductive formula :=
| Plain of expr
| Plus of formula & formula
| Product of formula & formula
| Total of index & formula
| Partial of nat & seq index & formula.    (* the partial derivative in this entry of this input *)

(* derivatives carried out *)
Fixpoint lower (T : table) (f : formula) : expr := match f with
  | Plain e => e
  | Plus a b => Add (lower T a) (lower T b)
  | Product a b => Mul (lower T a) (lower T b)
  | Total v a => Sum v (lower T a)
  | Partial by_ at_ a => derivative T by_ at_ (lower T a) end.
Fixpoint has_partial (f : formula) : bool := match f with
  | Plain _ => false | Plus a b | Product a b => has_partial a || has_partial b
  | Total _ a => has_partial a | Partial _ _ _ => true end.
(* all that is differentiated has derivatives where the conditions hold *)
Fixpoint proper (T : table) (given : seq condition) (outer : seq nat) (f : formula) : bool := match f with
  | Plain _ => true
  | Plus a b | Product a b => proper T given outer a && proper T given outer b
  | Total _ a => proper T given outer a
  | Partial by_ at_ a => [&& proper T given (by_ :: outer) a, is_variable T by_,
      ~~ has_partial a || all (carried T given outer by_ at_) given & differentiable T given outer by_ at_ (lower T a)] end.

Section Meaning.
Variables (R : realType) (size_of : nat -> nat) (scalar : nat -> R).
Variable arbitrary : nat -> seq nat -> (seq nat -> R) -> seq nat -> R.
Variables (T : table) (input : nat -> seq nat -> R).
Local Notation vary over by_ ats := (varied size_of scalar arbitrary T input over by_ ats).
Local Notation world over := (entries_at size_of scalar arbitrary input T over).

Fixpoint formula_value (over : given_entries R) (r : environment) (f : formula) : R := match f with
  | Plain e => meaning size_of scalar (world over) r e
  | Plus a b => formula_value over r a + formula_value over r b
  | Product a b => formula_value over r a * formula_value over r b
  | Total v a => \sum_(0 <= x < size_of v.2) formula_value over (update r v x) a
  | Partial by_ at_ a => 'D_1 (fun t => formula_value (vary over by_ (map r at_) t) r a : R) (0 : R) end.
(* every derivative in it exists, inner ones near the point *)
Fixpoint derivatives_exist (over : given_entries R) (r : environment) (f : formula) : Prop := match f with
  | Plain e => True
  | Plus a b | Product a b => derivatives_exist over r a /\ derivatives_exist over r b
  | Total v a => forall x, (x < size_of v.2)%N -> derivatives_exist over (update r v x) a
  | Partial by_ at_ a =>
      derivable (fun t => formula_value (vary over by_ (map r at_) t) r a : R) (0 : R) 1 /\
      \forall t \near (0 : R), derivatives_exist (vary over by_ (map r at_) t) r a end.

Hypothesis sizes_positive : forall s, (0 < size_of s)%N.
Hypothesis scalars_positive : forall n, 0 < scalar n.
Hypothesis T_formed : well_formed T.
Variable given : seq condition.

(* without derivatives there is nothing to assume *)
Lemma plain_right f over r : has_partial f = false ->
  derivatives_exist over r f /\ formula_value over r f = meaning size_of scalar (world over) r (lower T f).
Proof.
elim: f r => [e|a IHa b IHb|a IHa b IHb|v a IHa|by_ at_ a IHa] r //=.
- by case/norP => /negPf/IHa Ha /negPf/IHb Hb; have [Da ->] := Ha r; have [Db ->] := Hb r.
- by case/norP => /negPf/IHa Ha /negPf/IHb Hb; have [Da ->] := Ha r; have [Db ->] := Hb r.
move/IHa => H; split; first by move=> x _; have [] := H (update r v x).
by apply: eq_big_nat => x _; have [] := H (update r v x).
Qed.
Theorem formula_right f outer over r : proper T given outer f -> all (is_variable T) outer -> within_scope outer over ->
  (forall c, List.In c given -> condition_in size_of scalar T (world over) c) -> valid size_of r ->
  derivatives_exist over r f /\ formula_value over r f = meaning size_of scalar (world over) r (lower T f).
Proof.
elim: f outer over r => [e|a IHa b IHb|a IHa b IHb|v a IHa|by_ at_ a IHa] outer over r /=.
- by [].
- case/andP => Pa Pb V O G rV; have [Da ->] := IHa _ _ _ Pa V O G rV; have [Db ->] := IHb _ _ _ Pb V O G rV.
  by split.
- case/andP => Pa Pb V O G rV; have [Da ->] := IHa _ _ _ Pa V O G rV; have [Db ->] := IHb _ _ _ Pb V O G rV.
  by split.
- move=> Pa V O G rV; split.
    by move=> x xn; have [] := IHa _ _ _ Pa V O G (update_valid rV xn).
  by apply: eq_big_nat => x /andP[_ xn]; have [] := IHa _ _ _ Pa V O G (update_valid rV xn).
case/and4P => Pa Vb C D V O G rV; set ats := map r at_.
have V' : all (is_variable T) (by_ :: outer) by rewrite /= Vb.
have H := derivative_right sizes_positive scalars_positive T_formed O V' G rV erefl D rV erefl.
have near : \forall t \near (0 : R), derivatives_exist (vary over by_ ats t) r a /\
    formula_value (vary over by_ ats t) r a = meaning size_of scalar (world (vary over by_ ats t)) r (lower T a).
  case Pn: (has_partial a) C => /= C; last first.
    apply: filterE => t; exact: plain_right.
  have := conditions_near sizes_positive scalars_positive T_formed O V' G rV (erefl ats) C.
  apply: filterS => t Gt; apply: IHa Pa V' _ Gt rV => k; exact: (varied_scope O).
have S : slope_at (fun t => formula_value (vary over by_ ats t) r a) 0 (meaning size_of scalar (world over) r (derivative T by_ at_ (lower T a))).
  by apply: slope_near H; apply: filterS near => t [_ ->].
split; last by rewrite -(slope_value S).
by split; [case: S | apply: filterS near => t []].
Qed.
End Meaning.
